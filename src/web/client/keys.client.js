// Keyboard shortcuts: c write, / search, j and k move, Enter open, ? help.
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

const sheet = document.querySelector('#keys')
sheet.addEventListener('click', (event) => event.target === sheet && sheet.close())
const help = () => (sheet.open ? sheet.close() : sheet.showModal())

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
