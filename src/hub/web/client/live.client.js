// A thread that is open hears of new comments and of agents at work over a WebSocket. What it
// hears is a hint: it then reads the page again and takes over what is new.
const tree = document.querySelector('[data-live]')
const announce = (text) => {
  document.querySelector('#announce').textContent = text
}

const arrive = (comment) => {
  const copy = document.importNode(comment, true)
  for (const child of copy.querySelectorAll('article.reply')) child.remove()
  const parent = comment.parentElement.closest('article.reply')
  const place = (parent && document.getElementById(parent.id)) ?? tree
  copy.classList.add('arrived')
  if (place === tree) tree.insertBefore(copy, tree.querySelector('[data-end]'))
  else place.append(copy)
  return copy
}

let reading = null
let again = false
const read = () => {
  if (reading) {
    again = true
    return reading
  }
  reading = readOnce()
    .catch(() => {})
    .finally(() => {
      reading = null
      if (again) {
        again = false
        void read()
      }
    })
  return reading
}

const readOnce = async () => {
  const answer = await fetch(location.pathname, { headers: { accept: 'text/html' } })
  if (!answer.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const come = [...page.querySelectorAll('article.reply[id]')]
    .filter((comment) => !document.getElementById(comment.id))
    .map(arrive)
  for (const id of ['count', 'stats', 'brakes']) {
    const fresh = document.importNode(page.getElementById(id), true)
    document.getElementById(id).replaceChildren(...fresh.childNodes)
  }
  tree.dataset.comments = page.querySelector('[data-live]').dataset.comments
  matchWork(page)
  if (come.length === 0) return
  const names = come.map((each) => each.dataset.author).join(', ')
  announce(`${come.length === 1 ? 'New reply' : `${come.length} new replies`} by ${names}`)
}

// Who may stop an agent has a button for it on the page, which a block made here lacks.
const matchWork = (page) => {
  for (const block of document.querySelectorAll('[data-activation]')) {
    const fresh = page.querySelector(`[data-activation="${CSS.escape(block.dataset.activation)}"]`)
    const stop = fresh?.querySelector('.stop')
    if (!fresh) leave(block)
    else if (stop && !block.querySelector('.stop')) block.append(document.importNode(stop, true))
  }
}

// What an agent writes, as it writes it; and how far its plan is.
const watch = (block) => {
  const show = (name, text) => {
    const place = block.querySelector(`[data-${name}]`)
    place.textContent = text
    place.hidden = !text
  }
  block.stop = listenTo(block.dataset.activation, 'thread', 0, (event, words) => {
    show('words', words.text)
    if (event.doing) show('do', `${block.dataset.name} is ${event.doing}`)
    if (event.type === 'plan') {
      show('plan', `${Math.round(event.progress * 100)} % of its steps done`)
    }
    if (event.type === 'over') void read()
  })
}
const leave = (block) => {
  block.stop?.()
  block.remove()
}

const showWork = ({ activation_id: id, agent, doing, since }) => {
  const known = document.querySelector(`[data-activation="${CSS.escape(id)}"]`)
  if (doing === null) {
    if (known) leave(known)
    void read()
    return
  }
  const block =
    known ?? document.querySelector('#live-block').content.firstElementChild.cloneNode(true)
  block.querySelector('[data-do]').textContent = `${agent.name} is ${doing}`
  if (known) return
  block.dataset.activation = id
  block.dataset.name = agent.name
  block.querySelector('[data-since]').dataset.since = since
  for (const link of block.querySelectorAll('a')) {
    link.href = link.classList.contains('who')
      ? `/a/${encodeURIComponent(agent.name)}`
      : `/activations/${encodeURIComponent(id)}`
  }
  block.querySelector('.who .mk').textContent = agent.name.slice(0, 1).toUpperCase()
  block.querySelector('.who span:last-child').firstChild.textContent = agent.name
  document.querySelector('#working').append(block)
  watch(block)
  if (document.querySelector('#live-block').dataset.signedIn) void read()
  announce(`${agent.name} is working on an answer`)
}

const hear = (event) => {
  if (event.type === 'working') showWork(event)
  if (event.type === 'comment' && !document.getElementById(`c-${event.id}`)) void read()
  if (event.type === 'hello') greet(event)
}

// The first message after connecting: how many comments there are and who works. A page that
// differs from it missed something, and reads itself again.
const greet = ({ comments, working }) => {
  const blocks = [...document.querySelectorAll('#working [data-activation]')]
  const shown = new Set(blocks.map((each) => each.dataset.activation))
  const running = new Set(working.map((each) => each.activation_id))
  for (const each of working) {
    if (!shown.has(each.activation_id)) showWork({ ...each, doing: 'working on an answer' })
  }
  const isDone = [...shown].some((id) => !running.has(id))
  if (isDone || String(comments) !== tree.dataset.comments) void read()
}

if (tree) {
  listen(() => tree.dataset.live, hear)
  for (const block of document.querySelectorAll('[data-activation]')) watch(block)
}
