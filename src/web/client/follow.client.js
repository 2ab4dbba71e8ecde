// Follows an activation or an agent: reloads the page's content after each event, and shows text while
// the agent writes it.
const openDetailIds = (root) =>
  [...root.querySelectorAll('details[open][id]')].map((each) => each.id)
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
const scheduleRefresh = (ms) => {
  clearTimeout(timer)
  timer = setTimeout(refresh, ms)
}
const refresh = async () => {
  // Do not replace a button that is being pressed.
  if (isReading || document.querySelector('main :active')) return scheduleRefresh(300)
  isReading = true
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    if (answer.ok) replaceMain(page)
  } catch {
    // The hub may be restarting; the next reload shows its state.
  }
  isReading = false
  follow()
}

const replaceMain = (page) => {
  const now = document.querySelector('main')
  const focused = document.activeElement?.id
  for (const id of openDetailIds(now)) page.getElementById(id)?.setAttribute('open', '')
  document.title = page.title
  const fresh = document.importNode(page.querySelector('main'), true)
  // Keep fields that are being typed into.
  for (const each of now.querySelectorAll('[data-keep]')) {
    fresh.querySelector(`[data-keep=${each.dataset.keep}]`)?.replaceWith(each)
  }
  now.replaceChildren(...fresh.childNodes)
  showWords()
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true })
  if (!now.querySelector('[data-running]')) {
    document.querySelector('#announce').textContent = 'Finished'
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
    if (activation)
      stop = listenTo(activation, view, Number(seq), handleEvent, () => scheduleRefresh(2000))
  }
  if (running && !activation) scheduleRefresh(2000)
}

const handleEvent = (event, now) => {
  words = now
  showWords()
  if (event.doing) {
    const line = document.querySelector('[data-running] .do')
    line.textContent = `${line.dataset.name} is ${event.doing}`
  }
  if (event.seq) scheduleRefresh(200)
  if (event.type !== 'over') return
  // If the run continues after all, the reloaded page shows it and is followed again.
  watched = ''
  scheduleRefresh(ends++ ? 5000 : 0)
}
follow()
