// Presses the button that has the key, such as 1 for "First is better".
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
  if (event.target.closest?.('input, textarea, select, dialog')) return
  document.querySelector(`[aria-keyshortcuts="${CSS.escape(event.key)}"]`)?.click()
})
