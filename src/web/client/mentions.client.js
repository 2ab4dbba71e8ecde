// Completes mentions. The page lists the names in <datalist id="names">; label is the account's kind.
const names = [...document.querySelectorAll('#names option')].map((option) => ({
  name: option.value,
  kind: option.label,
}))
// The character before is judged as shared/markdown/mention.ts does.
const typed = /(?<![\p{Lu}\p{Ll}\p{Lt}\p{sc=Latin}\p{Nd}_]\p{M}*|[@/\\]:?)@([\w-]*)$/u

const attach = (field) => {
  const menu = document.createElement('ul')
  menu.className = 'menu'
  menu.id = `${field.id}-names`
  menu.setAttribute('role', 'listbox')
  menu.setAttribute('aria-label', 'Names')
  menu.hidden = true
  field.after(menu)
  field.setAttribute('aria-autocomplete', 'list')
  field.setAttribute('aria-controls', menu.id)
  let found = []
  let chosen = 0

  const close = () => {
    menu.hidden = true
    field.removeAttribute('aria-activedescendant')
  }
  const findTyped = () => typed.exec(field.value.slice(0, field.selectionStart))?.[1]
  const show = () => {
    const start = findTyped()
    found =
      start === undefined
        ? []
        : names.filter((each) => each.name.startsWith(start.toLowerCase())).slice(0, 6)
    chosen = 0
    if (found.length === 0) return close()
    menu.hidden = false
    draw()
  }
  const draw = () => {
    menu.replaceChildren(
      ...found.map((each, index) => {
        const item = document.createElement('li')
        item.id = `${menu.id}-${index}`
        item.setAttribute('role', 'option')
        item.setAttribute('aria-selected', String(index === chosen))
        item.textContent = `@${each.name}, ${each.kind}`
        item.addEventListener('mousedown', (event) => {
          event.preventDefault()
          take(index)
        })
        return item
      }),
    )
    field.setAttribute('aria-activedescendant', `${menu.id}-${chosen}`)
  }
  const take = (index) => {
    const end = field.selectionStart
    const start = end - findTyped().length
    field.setRangeText(`${found[index].name} `, start, end, 'end')
    field.dispatchEvent(new Event('input', { bubbles: true }))
    close()
  }

  field.addEventListener('input', show)
  field.addEventListener('blur', close)
  field.addEventListener('keydown', (event) => {
    if (menu.hidden) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) {
      chosen = (chosen + by + found.length) % found.length
      draw()
    } else if (event.key === 'Enter' || event.key === 'Tab') take(chosen)
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  if (document.activeElement === field) show()
}

for (const field of document.querySelectorAll('[data-mentions]')) attach(field)
