// Keeps the sentence of the consent page the same as the agent that is selected below it.
export default function consent(form, signal) {
  const { agent, agent_id: id } = form.elements;
  const show = () => {
    const chosen = agent.selectedOptions[0];
    if (!chosen) return;
    form.querySelector("#consent-team").textContent = chosen.parentElement.label;
    form.querySelector("#consent-agent").textContent =
      chosen.value.startsWith("new:") ? id.value.trim() : chosen.textContent;
  };
  form.addEventListener("input", show, { signal });
  show();
}
