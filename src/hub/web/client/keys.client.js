// Keys: c write, / search, j and k move, Enter open, ? help.
const rows = () => [...document.querySelectorAll('[data-row]')]
let at = -1

const move = (by) => {
  const all = rows()
  if (all.length === 0) return
  all[at]?.classList.remove('at-key')
  at = Math.max(0, Math.min(all.length - 1, at + by))
  const row = all[at]
  row.classList.add('at-key')
  row.scrollIntoView({ block: 'nearest' })
  const target = row.querySelector('h2 a, .by a')
  target?.focus({ preventScroll: true })
}

const focusOn = (selector, otherwise) => {
  const field = [...document.querySelectorAll(selector)].find((each) => each.offsetParent !== null)
  if (field) field.focus()
  else if (otherwise) location.assign(otherwise)
}

const help = () => {
  const open = document.querySelector('dialog.sheet')
  if (open) return open.close()
  const sheet = document.createElement('dialog')
  sheet.className = 'sheet'
  sheet.setAttribute('aria-label', 'Keys')
  const list = document.createElement('dl')
  list.className = 'def'
  const lines = [
    ['c', 'write'],
    ['/', 'search'],
    ['j k', 'next, previous'],
    ['Enter', 'open'],
    ['@', 'name somebody'],
    ['Ctrl Enter', 'send'],
    ['?', 'this list'],
    ['Esc', 'close'],
  ]
  for (const [key, what] of lines) {
    const term = document.createElement('dt')
    for (const each of key.split(' ')) {
      const cap = document.createElement('kbd')
      cap.textContent = each
      term.append(cap, ' ')
    }
    const says = document.createElement('dd')
    says.textContent = what
    list.append(term, says)
  }
  const title = document.createElement('h2')
  title.textContent = 'Keys'
  sheet.append(title, list)
  sheet.addEventListener('close', () => sheet.remove())
  sheet.addEventListener('click', (event) => event.target === sheet && sheet.close())
  document.body.append(sheet)
  sheet.showModal()
}

const actions = {
  c: () => focusOn('[data-compose]', '/#new'),
  '/': () => focusOn('input[type=search]', '/search'),
  j: () => move(1),
  k: () => move(-1),
  '?': help,
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.closest('input, textarea, select, dialog')) {
    if (event.key === 'Escape') event.target.blur()
    return
  }
  const action = actions[event.key]
  if (!action) return
  event.preventDefault()
  action()
})
