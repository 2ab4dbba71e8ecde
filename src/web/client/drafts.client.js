// Keeps drafts: the text of a field with data-draft survives a reload until the hub has taken it, which it answers
// by a redirect to another page than the one for signing in. Without a connection the text is there again.
const storeKey = (field) => `draft:${location.pathname}:${field.dataset.draft}`
const sentKey = 'drafts sent'
const forgetTaken = () => {
  const sent = sessionStorage.getItem(sentKey)
  if (sent === null) return
  sessionStorage.removeItem(sentKey)
  const isTaken = performance.getEntriesByType('navigation')[0]?.redirectCount > 0
  if (isTaken && location.pathname !== '/login') {
    for (const key of JSON.parse(sent)) localStorage.removeItem(key)
  }
}
try {
  forgetTaken()
} catch {
  // Storage may be disabled.
}
// The button for a preview shows it on the page. Where its script cannot be loaded it opens the page of the preview.
addEventListener('click', async (event) => {
  const { target } = event
  if (!target.matches('[data-preview] [formaction]')) return
  event.preventDefault()
  const { form } = target
  try {
    await import(form.dataset.preview)
    form.dispatchEvent(new Event('preview'))
  } catch {
    form.requestSubmit(target)
  }
})
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
    field.form?.addEventListener('submit', () => {
      const fields = [...field.form.querySelectorAll('[data-draft]')]
      sessionStorage.setItem(sentKey, JSON.stringify(fields.map(storeKey)))
    })
  } catch {
    // Storage may be disabled; then there are no drafts.
  }
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) field.form?.requestSubmit()
  })
}
