// Keeps what was typed until it is sent: a text area with data-draft survives a reload.
const storeKey = (field) => `draft:${location.pathname}:${field.dataset.draft}`
for (const field of document.querySelectorAll('[data-draft]')) {
  try {
    if (!field.value) field.value = localStorage.getItem(storeKey(field)) ?? ''
    field.addEventListener('input', () => {
      if (field.value) localStorage.setItem(storeKey(field), field.value)
      else localStorage.removeItem(storeKey(field))
    })
    field.form?.addEventListener('submit', () => localStorage.removeItem(storeKey(field)))
  } catch {
    // Storage may be switched off; then there are no drafts.
  }
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) field.form?.requestSubmit()
  })
}
