// Keeps the block of an agent that works in a thread up to date: what it does, where in its plan it is, the text
// that it writes, and what it has cost. The hub renders the text, block by block, and decides what a viewer sees.
const show = (place, text) => {
  place.textContent = text
  place.hidden = !text
}

const showPlan = (place, steps) => {
  const [line, list] = place.children
  const labels = JSON.parse(place.dataset.labels)
  const find = (status) => steps.findIndex((step) => step.status === status)
  const at = find('running') < 0 ? find('pending') : find('running')
  const now = steps[at]?.title
  const nth = at < 0 ? steps.length : at + 1
  line.textContent = `${nth} of ${steps.length}${now ? `: ${now}` : ' steps'}`
  list.replaceChildren(
    ...steps.map(({ title, status }) => {
      const step = document.createElement('li')
      const state = document.createElement('span')
      state.textContent = labels[status]
      step.append(title || 'Step (title hidden)', ' ', state)
      return step
    }),
  )
  place.hidden = steps.length === 0
}

const formatCost = (microusd) => {
  if (microusd === 0) return ''
  if (microusd < 500) return 'under\u00a0$0.001 so far'
  return `$${(microusd / 1e6).toFixed(microusd < 999500 ? 3 : 2)} so far`
}

globalThis.watchWork = (block, onOver) => {
  const find = (name) => block.querySelector(`[data-${name}]`)
  const html = find('html')
  let cost = 0
  // Characters of the text that are shown as HTML.
  let rendered = 0
  const showText = ({ text }) => show(find('words'), text.slice(rendered))
  const dropHtml = () => {
    rendered = 0
    html.replaceChildren()
  }
  const handlers = {
    plan: ({ steps }) => steps && showPlan(find('plan'), steps),
    usage: ({ cost_microusd: microusd }) => {
      cost += microusd
      show(find('cost'), formatCost(cost))
    },
    'text-delta': ({ from }, words) => {
      if (from < rendered || rendered === 0) dropHtml()
      showText(words)
    },
    'text-html': (event, words) => {
      if (event.from === 0) dropHtml()
      html.append(...new DOMParser().parseFromString(event.html, 'text/html').body.childNodes)
      rendered = event.to
      showText(words)
    },
    'step-finish': (_event, words) => {
      dropHtml()
      showText(words)
    },
    over: onOver,
  }
  block.stop = listenTo(block.dataset.activation, 'full', 0, (event, words) => {
    if (event.doing) show(find('do'), `${block.dataset.name} is ${event.doing}`)
    handlers[event.type]?.(event, words)
  })
}
