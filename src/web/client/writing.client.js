// Loads what helps to write once somebody is about to: a page is read more often than it is written on.
const { writing, code } = document.querySelector('[data-writing]').dataset
// The button that copies code comes once somebody points or types, and with code that arrives later, such as a reply.
const findCode = () => document.querySelector('.prose pre') && import(code)
let isWatched = false
const load = ({ target }) => {
  if (target.matches?.('[data-max],[data-image]')) void import(writing)
  if (isWatched) return
  isWatched = true
  void findCode()
  new MutationObserver(findCode).observe(document.body, { childList: true, subtree: true })
}
// not when a field gets the focus: a page may give it while it loads
for (const type of ['pointerover', 'keydown', 'input', 'dragenter']) addEventListener(type, load)
// a draft may be too long already
for (const field of document.querySelectorAll('[data-max]')) {
  if (field.value.length > field.dataset.max) load({ target: field })
}
