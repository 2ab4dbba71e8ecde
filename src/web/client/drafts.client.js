// Keeps drafts: the text of a field with data-draft survives a reload until its form is submitted.
const storeKey = (field) => `draft:${location.pathname}:${field.dataset.draft}`
for (const field of document.querySelectorAll('[data-draft]')) {
  try {
    if (!field.value) field.value = localStorage.getItem(storeKey(field)) ?? ''
    field.addEventListener('input', () => {
      if (field.value) localStorage.setItem(storeKey(field), field.value)
      else localStorage.removeItem(storeKey(field))
    })
    // The script of the preview is loaded when somebody writes.
    const preview = field.form?.dataset.preview
    if (preview) field.addEventListener('input', () => import(preview), { once: true })
    field.form?.addEventListener('submit', () => localStorage.removeItem(storeKey(field)))
  } catch {
    // Storage may be disabled; then there are no drafts.
  }
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) field.form?.requestSubmit()
  })
}
