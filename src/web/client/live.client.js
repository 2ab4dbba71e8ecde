// Keeps an open thread up to date over a WebSocket. A message about a new comment or a running agent
// is only a hint: the script then reloads the page's content and adds what is new.
const tree = document.querySelector('[data-live]')
const announce = (text) => {
  document.querySelector('#announce').textContent = text
}

const addComment = (comment) => {
  const copy = document.importNode(comment, true)
  copy.querySelector('.branch')?.remove()
  const place = document.getElementById(comment.dataset.parent) ?? tree
  copy.classList.add('arrived')
  if (place === tree) tree.insertBefore(copy, tree.querySelector('[data-end]'))
  else findBranch(place, comment.parentElement).append(copy)
  return copy
}

// The place for replies to an entry, with their number as on the page that was read.
const findBranch = (place, fresh) => {
  if (!fresh.matches('.branch')) return place
  const branch =
    place.querySelector(':scope > .branch') ?? place.appendChild(document.importNode(fresh))
  const [summary] = fresh.children
  if (branch.firstElementChild) branch.firstElementChild.innerHTML = summary.innerHTML
  else branch.append(document.importNode(summary, true))
  return branch
}

// Shows what a moderator or an author changed of an entry, such as its removal. Replies stay where they
// are, and so does an entry that is being typed into.
const isOwnPart = (part) => !part.matches('.branch')
const update = (fresh) => {
  const shown = document.getElementById(fresh.id)
  if (shown?.dataset.v === fresh.dataset.v || !shown || shown.contains(document.activeElement))
    return
  for (const part of [...shown.children].filter(isOwnPart)) part.remove()
  shown.prepend(...[...document.importNode(fresh, true).children].filter(isOwnPart))
  shown.dataset.v = fresh.dataset.v
  announce('The thread has changed')
}

// Reads again when an agent that is to answer should have started: nothing announces that it has not.
let startTimer
const awaitStart = () => {
  clearTimeout(startTimer)
  const { wait } = document.querySelector('#notices').dataset
  if (wait) startTimer = setTimeout(read, Number(wait))
}

let reading = null
let isReadPending = false
const read = () => {
  if (reading) {
    isReadPending = true
    return reading
  }
  reading = readOnce()
    .catch(() => {})
    .finally(() => {
      reading = null
      if (isReadPending) {
        isReadPending = false
        void read()
      }
    })
  return reading
}

// What arrives while nobody looks stays unread: the page is read again once somebody does.
let isUnseen = false
const readOnce = async () => {
  isUnseen = document.hidden
  const answer = await fetch(tree.dataset.past ? location.href : location.pathname, {
    headers: { accept: 'text/html', ...(isUnseen && { purpose: 'prefetch' }) },
  })
  if (!answer.ok) return
  globalThis.readUnread?.()
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  // A page with earlier comments links to the newest; adding them here would leave a gap.
  const arrived = tree.dataset.past ? [] : [...page.querySelectorAll('article.reply[id]')]
  const added = arrived.filter(({ id }) => !document.getElementById(id)).map(addComment)
  page.querySelectorAll('[data-v]').forEach(update)
  for (const id of ['count', 'stats', 'notices', 'hint']) {
    const fresh = page.getElementById(id)
    if (fresh)
      document.getElementById(id)?.replaceChildren(...document.importNode(fresh, true).childNodes)
  }
  const notices = page.getElementById('notices')
  document.querySelector('#notices').dataset.wait = notices?.dataset.wait ?? ''
  awaitStart()
  tree.dataset.comments = page.querySelector('[data-live]').dataset.comments
  syncBlocks(page)
  if (added.length === 0) return
  const names = added.map((each) => each.dataset.author).join(', ')
  announce(`${added.length === 1 ? 'New reply' : `${added.length} new replies`} by ${names}`)
}

// Removes blocks of agents that have finished, and adds what blocks made here lack: the stop button, what is usual.
const syncBlocks = (page) => {
  for (const block of document.querySelectorAll('[data-activation]')) {
    const fresh = page.querySelector(`[data-activation="${CSS.escape(block.dataset.activation)}"]`)
    const stop = fresh?.querySelector('.stop')
    if (!fresh) removeBlock(block)
    else {
      if (stop && !block.querySelector('.stop')) block.append(document.importNode(stop, true))
      const usual = '[data-usual]'
      block.querySelector(usual).textContent = fresh.querySelector(usual).textContent
    }
  }
}

// What shows the work of an agent is loaded when the first one works.
const watch = async (block) => {
  await import(tree.dataset.work)
  if (block.isConnected && !block.stop) watchWork(block, read)
}
const removeBlock = (block) => {
  block.stop?.()
  block.remove()
}

const showWork = ({ activation_id: id, agent, doing, since }) => {
  const known = document.querySelector(`[data-activation="${CSS.escape(id)}"]`)
  if (doing === null) {
    if (known) removeBlock(known)
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
  void watch(block)
  void read()
  announce(`${agent.name} is working on an answer`)
}

const handleEvent = (event) => {
  if (event.type === 'working') showWork(event)
  if (event.type === 'comment' && !document.getElementById(`c-${event.id}`)) void read()
  if (event.type === 'changed') void read()
  if (event.type === 'hello') syncWithHello(event)
}

// Handles the first message after connecting: the number of comments and the running agents. A page
// that differs has missed a message, and reloads its content.
const syncWithHello = ({ comments, working }) => {
  const blocks = [...document.querySelectorAll('#working [data-activation]')]
  const shown = new Set(blocks.map((each) => each.dataset.activation))
  const running = new Set(working.map((each) => each.activation_id))
  for (const each of working) {
    if (!shown.has(each.activation_id)) showWork({ ...each, doing: 'working on an answer' })
  }
  const isDone = [...shown].some((id) => !running.has(id))
  if (isDone || String(comments) !== tree.dataset.comments) void read()
}

// A link to a comment that is on another page of the thread: the server finds the page by its id.
const openLinkedComment = () => {
  const id = /^#c-(.+)$/.exec(location.hash)?.[1]
  const isKnown = !id || document.getElementById(`c-${id}`)
  if (isKnown || new URLSearchParams(location.search).has('comment')) return
  location.replace(`${location.pathname}?comment=${id}${location.hash}`)
}

if (tree) {
  // What closes menus and copies links is loaded when the first menu opens: the event does not bubble.
  const loadMenus = ({ target }) => target.matches('.rare') && void import(tree.dataset.menus)
  document.addEventListener('toggle', loadMenus, true)
  openLinkedComment()
  // Without a connection the page reads what is new each time it tries to connect, while somebody looks at it.
  listen(
    () => tree.dataset.live,
    handleEvent,
    () => document.hidden || read(),
  )
  document.addEventListener('visibilitychange', () => isUnseen && read())
  for (const block of document.querySelectorAll('[data-activation]')) void watch(block)
  awaitStart()
}
