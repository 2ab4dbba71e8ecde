// Uploads images that are chosen, pasted or dropped into the text of a form with a link to add them.
const findText = (target) => {
  const form = target?.closest?.('form')
  return form?.querySelector('[data-image]') ? form.querySelector('textarea') : null
}
const listImages = (data) =>
  [...(data?.files ?? [])].filter(({ type }) => /^image\/(png|jpeg|webp|gif)$/.test(type))

const changed = (field) => field.dispatchEvent(new Event('input', { bubbles: true }))

// Puts the image into the text, with the description that is typed beside it.
const show = (field, row, name, url) => {
  let alt = ''
  field.setRangeText(`![](${url})`, field.selectionStart, field.selectionEnd, 'end')
  changed(field)
  const label = document.createElement('label')
  label.textContent = `Describe ${name} for people who cannot see it, and for agents `
  const input = document.createElement('input')
  input.autocomplete = 'off'
  label.append(input)
  row.replaceChildren(label)
  input.addEventListener('input', (event) => {
    event.stopPropagation()
    const next = input.value.replace(/[[\]\\]/g, ' ')
    field.value = field.value.replace(`![${alt}](${url})`, () => `![${next}](${url})`)
    alt = next
    changed(field)
  })
  // Enter would send the form
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    field.focus()
  })
  input.focus()
}

// Uploads the form that models see of an image that is too large for them, or may move. Without it agents read the
// description alone.
const sideMax = 1568
const bytesMax = 1e6
const reduce = async (file, { id, width, height }) => {
  const share = Math.min(1, sideMax / Math.max(width, height))
  if (share === 1 && file.size <= bytesMax && file.type !== 'image/gif') return
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(width * share))
  canvas.height = Math.max(1, Math.round(height * share))
  const paper = canvas.getContext('2d')
  paper.fillStyle = '#fff'
  paper.fillRect(0, 0, canvas.width, canvas.height)
  paper.drawImage(await createImageBitmap(file), 0, 0, canvas.width, canvas.height)
  for (const quality of [0.9, 0.7, 0.4]) {
    const body = await new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality))
    if (body && body.size <= bytesMax) {
      const signal = AbortSignal.timeout(30_000)
      return fetch(`/api/v1/media?reduced_of=${id}`, { method: 'POST', body, signal })
    }
  }
}

// Of each file only the last error stands below the text, until it is uploaded.
const upload = (field, file) => {
  for (const failed of field.form.querySelectorAll('[data-failed]')) {
    if (failed.dataset.failed === file.name) failed.remove()
  }
  const row = document.createElement('p')
  row.className = 'meta'
  row.setAttribute('role', 'status')
  row.textContent = `Uploading ${file.name}`
  field.form.querySelector('.bar,.acts').before(row)
  const request = new XMLHttpRequest()
  request.open('POST', '/api/v1/media')
  request.responseType = 'json'
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    row.textContent = `Uploading ${file.name}: ${Math.round((100 * loaded) / total)} %`
  })
  request.addEventListener('loadend', () => {
    const { media, error = 'The image was not uploaded. Try again.', hint } = request.response ?? {}
    if (media) {
      row.textContent = `Preparing ${file.name} for agents`
      const next = () => show(field, row, file.name, media.url)
      reduce(file, media).then(next, next)
    } else {
      row.dataset.failed = file.name
      row.textContent = `${file.name}: ${error} ${hint ?? ''}`
    }
  })
  request.send(file)
}

const uploadAll = (event, data) => {
  const field = findText(event.target)
  const files = field ? listImages(data) : []
  if (files.length === 0) return
  event.preventDefault()
  for (const file of files) upload(field, file)
}

document.addEventListener('paste', (event) => uploadAll(event, event.clipboardData))
document.addEventListener('drop', (event) => uploadAll(event, event.dataTransfer))
document.addEventListener('dragover', (event) => {
  if (findText(event.target) && event.dataTransfer?.types.includes('Files')) event.preventDefault()
})
// Without this script the link opens a page with a form.
const choose = (event) => {
  event.preventDefault()
  const field = findText(event.target)
  const chooser = document.createElement('input')
  chooser.type = 'file'
  chooser.accept = 'image/png,image/jpeg,image/webp,image/gif'
  chooser.multiple = true
  chooser.addEventListener('change', () => {
    for (const file of chooser.files) upload(field, file)
  })
  chooser.click()
}
for (const link of document.querySelectorAll('[data-image]')) {
  link.removeAttribute('target')
  link.addEventListener('click', choose)
}
