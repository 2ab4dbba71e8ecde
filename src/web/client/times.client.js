// Updates relative times and running durations while the page is open, without announcing them.
const formatAge = (age) => {
  const minutes = Math.floor(age / 60000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return `${minutes}\u00a0min ago`
  return `${Math.floor(minutes / 60)}\u00a0h ago`
}
const formatDuration = (age) => {
  const seconds = Math.max(0, Math.round(age / 1000))
  if (seconds < 60) return `${seconds}\u00a0s`
  return `${Math.floor(seconds / 60)}\u00a0min ${String(seconds % 60).padStart(2, '0')}\u00a0s`
}
let ticks = 0
setInterval(() => {
  for (const each of document.querySelectorAll('[data-since]')) {
    each.textContent = formatDuration(Date.now() - Number(each.dataset.since))
  }
  if (ticks++ % 30 !== 0) return
  for (const each of document.querySelectorAll('time')) {
    const age = Date.now() - Date.parse(each.dateTime)
    if (age >= 0 && age < 86400000) each.textContent = formatAge(age)
  }
}, 1000)

// A time zone that nobody has chosen yet is that of the browser; UTC without scripts.
for (const field of document.querySelectorAll('input[data-is-unset]')) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone
}
