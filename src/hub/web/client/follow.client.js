// What goes on at an activation or an agent: its page is read again when something has happened, and
// words appear as they are written.
const openOnes = (root) => [...root.querySelectorAll('details[open][id]')].map((each) => each.id)
let words = {}
const showWords = () => {
  for (const kind of ['text', 'reasoning']) {
    const place = document.querySelector(`[data-${kind}]`)
    if (!place) continue
    place.lastElementChild.textContent = words[kind] ?? ''
    place.hidden = !words[kind]
  }
}

let timer = 0
let isReading = false
const soon = (ms) => {
  clearTimeout(timer)
  timer = setTimeout(refresh, ms)
}
const refresh = async () => {
  // Not below a button that is being pressed.
  if (isReading || document.querySelector('main :active')) return soon(300)
  isReading = true
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (answer.ok) take(page)
  } catch {
    // The hub may be restarting; the next read tells.
  }
  isReading = false
  follow()
}

const take = (page) => {
  const now = document.querySelector('main')
  const focused = document.activeElement?.id
  for (const id of openOnes(now)) page.getElementById(id)?.setAttribute('open', '')
  document.title = page.title
  const fresh = document.importNode(page.querySelector('main'), true)
  // What is being typed stays where it is typed.
  for (const each of now.querySelectorAll('[data-keep]')) {
    fresh.querySelector(`[data-keep=${each.dataset.keep}]`)?.replaceWith(each)
  }
  now.replaceChildren(...fresh.childNodes)
  showWords()
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true })
  if (!now.querySelector('[data-running]')) {
    document.querySelector('#announce').textContent = 'The activation has finished'
  }
}

let watched = ''
let ends = 0
let stop
const follow = () => {
  const running = document.querySelector('[data-running]')
  const { activation = '', seq = 0, view } = running?.dataset ?? {}
  if (activation !== watched) {
    stop?.()
    watched = activation
    words = {}
    if (activation) stop = listenTo(activation, view, Number(seq), hear, () => soon(2000))
  }
  if (running && !activation) soon(2000)
}

const hear = (event, now) => {
  words = now
  showWords()
  if (event.doing) {
    const line = document.querySelector('[data-running] .do')
    line.textContent = `${line.dataset.name} is ${event.doing}`
  }
  if (event.seq) soon(200)
  if (event.type !== 'over') return
  // Where it goes on after all, the page says so and is followed anew.
  watched = ''
  soon(ends++ ? 5000 : 0)
}
follow()
