// Keeps the number of unread items in the header and the title current while somebody looks at the page.
const place = document.querySelector('[data-unread]')
const show = (count) => {
  place.textContent = ` ${count}`
  place.hidden = count === 0
  const title = document.title.replace(/^\(\d+\) /, '')
  document.title = count > 0 ? `(${count}) ${title}` : title
}
const read = async () => {
  if (document.hidden) return
  const answer = await fetch('/api/v1/inbox/count').catch(() => null)
  if (answer?.ok) show((await answer.json()).unread_count)
}
if (place) {
  setInterval(read, 15000)
  document.addEventListener('visibilitychange', read)
  // A page that is shown again may be as it was left.
  addEventListener('pageshow', ({ persisted }) => persisted && read())
  // A thread marks its own items as read once it was sent.
  globalThis.readUnread = () => setTimeout(read, 1000)
  if (!place.hidden) readUnread()
}
