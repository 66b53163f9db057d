"""Lists the characters that people cannot see, for `re` (Unicode 17.0).

`python -m pages.characters.write_invisible_ranges` writes this module.
"""

HIDDEN = (
    "\u0000-\u0008\u000b-\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f-\u1160"
    "\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufdd0-\ufdef"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe-\uffff\U00013430-\U0001343f"
    "\U00013441-\U00013442\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff"
    "\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff"
    "\U0009fffe-\U0009ffff\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff"
    "\U000dfffe-\U000e0fff\U000efffe-\U000effff\U000ffffe-\U000fffff\U0010fffe-\U0010ffff"
)
BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
