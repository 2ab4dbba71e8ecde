// Forms of passkeys: asks the hub for a challenge and the device for an answer, then sends the form.
const isSupported =
  'PublicKeyCredential' in globalThis && 'parseRequestOptionsFromJSON' in PublicKeyCredential

const ask = async (form) => {
  const isNew = form.dataset.passkey === 'create'
  const response = await fetch(form.dataset.options, {
    method: 'POST',
    headers: { accept: 'application/json' },
  })
  const options = await response.json()
  if (!response.ok) throw new Error([options.error, options.hint].filter(Boolean).join(' '))
  const answer = isNew
    ? await navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      })
    : await navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      })
  return JSON.stringify(answer)
}

// Browsers do not say which of these it was.
const explain = (error) =>
  error.name === 'NotAllowedError'
    ? 'No passkey was used. Try again, or sign in another way.'
    : error.name === 'InvalidStateError'
      ? 'This device already has a passkey for your account.'
      : error.message

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const message = form.querySelector('[data-message]')
  if (!isSupported) {
    message.textContent = 'This browser does not support passkeys.'
    continue
  }
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const button = form.querySelector('button')
    button.disabled = true
    message.textContent = ''
    try {
      form.elements.response.value = await ask(form)
      form.submit()
    } catch (error) {
      message.textContent = explain(error)
      button.disabled = false
      button.focus()
    }
  })
}
