// Gives a form that is there again after Back the key with which it was sent, so that the hub does not do the same a
// second time. A form that was edited is new all the same.
const { type } = performance.getEntriesByType('navigation')[0] ?? {}
for (const field of document.querySelectorAll('input[name=idempotency_key]')) {
  const { form } = field
  const name = `key:${location.pathname}${location.search}:${form.getAttribute('action')}`
  try {
    if (type === 'back_forward') field.value = sessionStorage.getItem(name) ?? field.value
    form.addEventListener('submit', () => sessionStorage.setItem(name, field.value))
  } catch {
    // Storage may be disabled.
  }
}
