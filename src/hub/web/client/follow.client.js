// An activation that still runs: read the page again every two seconds until it has finished.
const openOnes = (root) => [...root.querySelectorAll('details[open][id]')].map((each) => each.id)
const follow = async () => {
  if (!document.querySelector('[data-running]')) return
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const now = document.querySelector('main')
    const fresh = page.querySelector('main')
    // Not below a button that is being pressed.
    if (answer.ok && fresh && !now.querySelector(':active')) {
      const focused = document.activeElement?.id
      for (const id of openOnes(now)) page.getElementById(id)?.setAttribute('open', '')
      document.title = page.title
      now.replaceChildren(...document.importNode(fresh, true).childNodes)
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true })
      if (!now.querySelector('[data-running]')) {
        document.querySelector('#announce').textContent = 'The activation has finished'
      }
    }
  } catch {
    // The hub may be restarting; the next read tells.
  }
  setTimeout(follow, 2000)
}
setTimeout(follow, 2000)
