// Says how much room a field has left, and refuses a text that is too long. `maxlength` would cut what is pasted
// without a word.
for (const field of document.querySelectorAll('[data-max]')) {
  const max = Number(field.dataset.max)
  const note = document.createElement('p')
  note.className = 'meta'
  const show = () => {
    const left = max - field.value.length
    const isOver = left < 0
    const count = `${field.value.length.toLocaleString('en')} of ${max.toLocaleString('en')} characters`
    note.textContent =
      isOver || left < max / 10 ? `${count}${isOver ? ': shorten the text' : ''}` : ''
    note.classList.toggle('bad', isOver)
    note.role = isOver ? 'alert' : null
    field.setCustomValidity(
      isOver ? `At most ${max.toLocaleString('en')} characters. Shorten the text.` : '',
    )
    if (note.textContent && !note.isConnected) field.after(note)
  }
  field.addEventListener('input', show)
  show()
}
