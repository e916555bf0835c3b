// What the browser keeps for this page. Some keep nothing for pages from disk: then it holds until the page is closed.

export function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keep a text, or forget it; false if the browser does not. */
export function keep(key: string, text: string | undefined): boolean {
  try {
    if (text === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** What was kept as JSON, or this. */
export function keptJson<T>(key: string, otherwise: T): T {
  try {
    return JSON.parse(kept(key) ?? "") as T;
  } catch {
    return otherwise;
  }
}
