// Closes an open menu of a thread on Escape and on a press elsewhere, copies the links to texts, and quotes them.
const opened = () => document.querySelector('.rare[open]')
document.addEventListener('pointerdown', ({ target }) => {
  const menu = opened()
  if (menu && !menu.contains(target)) menu.open = false
})
document.addEventListener('keydown', ({ key }) => {
  const menu = opened()
  if (!menu || key !== 'Escape') return
  if (menu.contains(document.activeElement)) menu.firstElementChild.focus()
  menu.open = false
})
// The menu stays open while the link says that it was copied.
const copyLink = async (link) => {
  await navigator.clipboard.writeText(link.href)
  const copied = 'Link copied'
  document.querySelector('#announce').textContent = copied
  const { textContent: text } = link
  if (text === copied) return
  link.textContent = copied
  setTimeout(() => {
    link.textContent = text
  }, 4000)
}

// The hub writes the quote; what was typed before it stays.
const quote = async (link) => {
  const { href } = link
  const field = document.querySelector('#reply')
  const answer = await fetch(href, { headers: { accept: 'text/html' } })
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const typed = field.value.trimEnd()
  field.value = `${typed && `${typed}\n\n`}${page.querySelector('#reply').value}`
  field.dispatchEvent(new Event('input', { bubbles: true }))
  field.focus()
  link.closest('.rare').open = false
}

document.addEventListener('click', async (event) => {
  const link = event.target.closest('[data-link], [data-quote]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  try {
    await ('link' in link.dataset ? copyLink : quote)(link)
  } catch {
    // Without a clipboard or a reply form the link leads there.
    location.assign(link.href)
  }
})
