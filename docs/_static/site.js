// Code blocks and tables that scroll sideways can be reached and scrolled with the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".bd-article pre, .bd-article table, .cell_output .output")) {
    block.setAttribute("tabindex", "0");
  }
});
