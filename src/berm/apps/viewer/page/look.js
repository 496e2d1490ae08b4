// Dark or light: what the system prefers, until the user chooses; the choice is remembered.

const KEY = "berm-look";

/** Calls `apply(name)` at once and whenever the look changes. */
export class Look {
  constructor(apply) {
    this.apply = apply;
    this.system = window.matchMedia("(prefers-color-scheme: light)");
    this.system.addEventListener("change", () => this.show());
    this.show();
  }

  get name() {
    return remembered() ?? (this.system.matches ? "light" : "dark");
  }

  toggle() {
    try {
      localStorage.setItem(KEY, this.name === "dark" ? "light" : "dark");
    } catch {
      // a browser that remembers nothing: the system's preference stays
    }
    this.show();
  }

  show() {
    document.documentElement.dataset.look = this.name;
    this.apply(this.name);
  }
}

function remembered() {
  try {
    const name = localStorage.getItem(KEY);
    return ["dark", "light"].includes(name) ? name : null;
  } catch {
    return null;
  }
}
