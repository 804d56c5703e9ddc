// Colours of the charts, read from the style sheet, so that page and charts cannot disagree.

export interface Theme {
  text: string;
  faint: string;
  line: string;
  grid: string;
  surface: string;
  good: string;
  bad: string;
  warn: string;
  shade: string;
  badShade: string;
  /** One per transaction type or run. */
  series: string[];
}

/** The colours of the theme that holds now. */
export function currentTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"),
    faint: of("faint"),
    line: of("line"),
    grid: of("grid"),
    surface: of("surface"),
    good: of("good"),
    bad: of("bad"),
    warn: of("warn"),
    shade: of("shade"),
    badShade: of("bad-shade"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => of(`series-${n}`)),
  };
}

const KEY = "lydite-theme";

/** Sets up the theme: `?theme=` or `#theme=` first, then the reader's last choice, then the system's. */
export function setUpTheme(changed: () => void): void {
  const root = document.documentElement;
  const asked = /[?#&]theme=(dark|light)\b/.exec(location.search + location.hash)?.[1];
  const chosen = asked ?? remembered();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  system.addEventListener("change", () => {
    relabel();
    changed();
  });
  const button = document.getElementById("theme");
  const relabel = () => {
    if (button) button.textContent = isDark() ? "Light" : "Dark";
  };
  if (button) {
    button.hidden = false;
    button.title = "Switch between light and dark";
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem(KEY, root.dataset.theme);
      } catch {
        // A page from disk may have no storage; the choice then lasts as long as the page.
      }
      relabel();
      changed();
    });
  }
  relabel();
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
