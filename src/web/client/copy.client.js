// Adds a button that copies what a page shows only once. Browsers offer the clipboard on HTTPS and localhost.
const attach = (shown) => {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'btn'
  const what = document.createElement('span')
  what.className = 'vh'
  what.textContent = ` ${shown.dataset.copy}`
  const show = (text, announced = '') => {
    button.replaceChildren(text, what)
    document.querySelector('#announce').textContent = announced
  }
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(shown.value ?? shown.textContent)
      show('Copied', 'Copied')
    } catch {
      const failed = 'Not copied. Select the text and copy it.'
      show(failed, failed)
    }
    setTimeout(show, 4000, 'Copy')
  })
  const line = document.createElement('div')
  line.className = 'up2'
  line.append(button)
  show('Copy')
  shown.after(line)
}

if (navigator.clipboard) for (const shown of document.querySelectorAll('[data-copy]')) attach(shown)
