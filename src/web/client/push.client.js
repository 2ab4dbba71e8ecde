// The form that adds this browser to those that get notifications, and what is in its way.
const form = document.querySelector('form[data-push-key]')
const list = document.querySelector('[data-push-problems]')

const isSupported =
  'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis

const addProblem = (text) => {
  const item = document.createElement('li')
  item.textContent = text
  list.append(item)
  list.closest('[hidden]')?.removeAttribute('hidden')
}

const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
    letter.charCodeAt(0),
  )

const isSameKey = (buffer, bytes) =>
  buffer !== null && new Uint8Array(buffer).every((byte, index) => byte === bytes[index])

const subscribe = async () => {
  const key = toBytes(form.dataset.pushKey)
  if ((await Notification.requestPermission()) !== 'granted') {
    throw new Error('Notifications are blocked. Allow them in the settings of this browser.')
  }
  const registration = await navigator.serviceWorker.register('/push-worker.js')
  await navigator.serviceWorker.ready
  const existing = await registration.pushManager.getSubscription()
  if (existing && !isSameKey(existing.options.applicationServerKey, key)) {
    await existing.unsubscribe()
  }
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
}

if (!globalThis.isSecureContext) {
  addProblem('This page is not secure. Open the hub over HTTPS, or on localhost.')
} else if (!isSupported) {
  addProblem(
    'This browser does not support notifications here. On an iPhone or iPad, add the hub to the home screen first.',
  )
} else if (Notification.permission === 'denied') {
  addProblem('Notifications are blocked. Allow them in the settings of this browser.')
}

if (form && isSupported) {
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const message = form.querySelector('[data-message]')
    const button = form.querySelector('button')
    button.disabled = true
    message.textContent = ''
    try {
      form.elements.subscription.value = JSON.stringify(await subscribe())
      form.submit()
    } catch (error) {
      message.textContent =
        error.name === 'AbortError'
          ? 'This browser could not reach its push service. Try again later.'
          : error.message
      button.disabled = false
      button.focus()
    }
  })
}
