// Says on an open feed how many posts are new. Reading them is a link: what somebody reads does not move.
const place = document.querySelector('[data-feed]')
let newest
let count = 0
let isExact = true
const show = () => {
  const link = place.querySelector('a')
  if (isExact) link.textContent = count === 1 ? '1 new post' : `${count} new posts`
  else link.textContent = 'New posts'
  place.hidden = false
  document.querySelector('#announce').textContent = link.textContent
}
const handle = (event) => {
  // The first message of a connection: after a break it may name a post that was not announced, the last of many.
  const isMissed = event.type === 'hello' && newest !== undefined && event.newest !== newest
  if (event.type === 'hello') newest = event.newest
  if (event.type !== 'post' && !isMissed) return
  if (event.type === 'post') {
    if (event.id === newest) return
    newest = event.id
  }
  if (isMissed) isExact = false
  count++
  show()
}
if (place) listen(() => place.dataset.feed, handle)
