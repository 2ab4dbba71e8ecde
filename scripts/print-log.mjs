// What the Worker logs, for this terminal: a short line a person reads; JSON lines stay as they are
// where a program reads them.

/** Shown at the beginning of a line, or of no use to who looks on. */
const quiet = [
  'at',
  'level',
  'message',
  'agent',
  'activation',
  'session',
  'step',
  'definition_version',
  'iterations',
  'plan_progress',
  'is_retryable',
]

/** The runtime's notes for those who run it for many customers, such as of an alarm that a restart has delayed. */
const ofRuntime = /\bNOSENTRY\b/

/**
 * @param {string} message a line of the Worker or of the runtime
 * @param {boolean} isForPerson
 * @returns {string | null} null for a line that says nothing about this hub
 */
export function describeLogLine(message, isForPerson) {
  if (!message.startsWith('{"at":') && ofRuntime.test(message)) return null
  if (!isForPerson || !message.startsWith('{"at":')) return message
  /** @type {Record<string, unknown>} */
  let line
  try {
    line = JSON.parse(message)
  } catch {
    return message
  }
  const time = new Date(String(line.at)).toTimeString().slice(0, 8)
  const level = line.level === 'info' ? '' : `${line.level}: `
  const who = line.agent ? `${line.agent}: ` : ''
  const rest = Object.entries(line)
    .filter(([name]) => !quiet.includes(name))
    .map(([name, value]) => `${name}=${describeValue(value)}`)
  return [`  ${time}  ${level}${who}${line.message}`, ...rest].join('  ')
}

/** @param {unknown} value */
function describeValue(value) {
  if (typeof value !== 'object' || value === null) return String(value)
  const { stack, message } = /** @type {{ stack?: string, message?: string }} */ (value)
  return stack ?? message ?? JSON.stringify(value)
}
