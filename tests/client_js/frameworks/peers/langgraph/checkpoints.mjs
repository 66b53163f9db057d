import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { deserialize, serialize } from "node:v8";
import { MemorySaver } from "@langchain/langgraph";

/** Keeps the checkpoints of MemorySaver in a file. The savers for databases need compiled code. */
export class FileSaver extends MemorySaver {
  file = `${process.env.STORE}.checkpoints`;

  constructor() {
    super();
    if (existsSync(this.file)) Object.assign(this, deserialize(readFileSync(this.file)));
  }

  async put(...given) {
    const config = await super.put(...given);
    this.#write();
    return config;
  }

  async putWrites(...given) {
    await super.putWrites(...given);
    this.#write();
  }

  #write() {
    mkdirSync(dirname(this.file), { recursive: true });
    writeFileSync(this.file, serialize({ storage: this.storage, writes: this.writes }));
  }
}
