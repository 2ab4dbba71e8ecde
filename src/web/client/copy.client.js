// Adds a button that copies what a page shows only once, or a block of code. Browsers offer the clipboard on HTTPS and
// localhost.
const attached = new WeakSet()
const attach = (shown) => {
  if (attached.has(shown)) return
  attached.add(shown)
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'btn'
  const what = document.createElement('span')
  what.className = 'vh'
  what.textContent = ` ${shown.dataset.copy ?? 'code'}`
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
  line.className = shown.dataset.copy ? 'up2' : 'up2 meta'
  line.append(button)
  show('Copy')
  shown.after(line)
}

const attachAll = () => document.querySelectorAll('[data-copy],.prose pre').forEach(attach)
if (navigator.clipboard) {
  attachAll()
  // What arrives later, and what a page is read again for, such as a reply or a preview.
  new MutationObserver(attachAll).observe(document.querySelector('main'), {
    childList: true,
    subtree: true,
  })
}
