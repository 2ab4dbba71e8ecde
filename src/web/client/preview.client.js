// Shows below a form what its text would do, once typing stops, and what it looks like once that is asked for.
const attach = (form) => {
  const button = form.querySelector('[formaction]')
  const shown = document.createElement('div')
  const place = document.createElement('div')
  place.setAttribute('aria-live', 'polite')
  form.after(shown, place)
  let timer = 0
  let sent = 0
  let isShown = false
  const clear = () => {
    shown.replaceChildren()
    place.replaceChildren()
  }
  const show = async () => {
    const number = ++sent
    if (!form.checkValidity()) return clear()
    const answer = await fetch('/posts-preview', {
      method: 'POST',
      body: new URLSearchParams(new FormData(form)),
    })
    if (number !== sent) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const take = (found) => (found ? [document.importNode(found, true)] : [])
    place.replaceChildren(...take(answer.ok && page.getElementById('promise')))
    shown.replaceChildren(
      ...take(isShown && (page.getElementById('shown') ?? page.querySelector('.wrong'))),
    )
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(() => show().catch(() => {}), 700)
  }
  const toggle = (isOn) => {
    isShown = isOn
    button.textContent = isOn ? 'Hide preview' : 'Preview'
    button.setAttribute('aria-expanded', isOn)
  }
  form.addEventListener('input', schedule)
  form.addEventListener('preview', async () => {
    if (isShown) {
      toggle(false)
      return shown.replaceChildren()
    }
    if (!form.reportValidity()) return
    toggle(true)
    try {
      await show()
      shown.scrollIntoView({ block: 'nearest' })
      document.querySelector('#announce').textContent = 'Preview shown below the form'
    } catch {
      toggle(false)
      document.querySelector('#announce').textContent = 'The hub did not answer. Try again.'
    }
  })
  if (form.querySelector('textarea').value) schedule()
}

for (const form of document.querySelectorAll('[data-preview]')) attach(form)
