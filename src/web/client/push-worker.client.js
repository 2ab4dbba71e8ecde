// The service worker: shows the messages of the hub, and opens what a click is about.
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('push', (event) => {
  const { title, body, path, tag } = event.data.json()
  event.waitUntil(
    self.registration.showNotification(title, { body, tag, icon: '/favicon.svg', data: { path } }),
  )
})

const open = async (path) => {
  const url = new URL(path, self.location.origin)
  if (url.origin !== self.location.origin) return
  const windows = await self.clients.matchAll({ type: 'window', includeUncontrolled: true })
  for (const each of windows) {
    if (each.url === url.href) return each.focus()
  }
  return self.clients.openWindow(url.href)
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data.path))
})
