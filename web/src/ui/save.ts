// A file that the reader saves.

import { h } from "./dom";

export function save(name: string, file: Blob): void {
  const link = h("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
