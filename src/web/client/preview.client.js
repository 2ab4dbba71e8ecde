// Shows below a form what its text would do, once typing stops.
const attach = (form) => {
  const place = document.createElement('div')
  place.setAttribute('aria-live', 'polite')
  form.after(place)
  let timer = 0
  let sent = 0
  const show = async () => {
    const number = ++sent
    if (!form.checkValidity()) return place.replaceChildren()
    const answer = await fetch('/posts-preview', {
      method: 'POST',
      body: new URLSearchParams(new FormData(form)),
    })
    if (number !== sent) return
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const promise = answer.ok && page.getElementById('promise')
    place.replaceChildren(...(promise ? [document.importNode(promise, true)] : []))
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(() => show().catch(() => {}), 700)
  }
  form.addEventListener('input', schedule)
  schedule()
}

for (const form of document.querySelectorAll('[data-preview]')) attach(form)
