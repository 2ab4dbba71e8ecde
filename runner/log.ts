/** What an operator reads: a line an event, and on a terminal a status line below. */
export interface Log {
  info(message: string): void
  warn(message: string): void
  /** Shows a line that the next one replaces; only on a terminal. */
  status(line: string): void
  /** Leaves this text out of everything that is logged from now on. */
  hide(secret: string): void
  /** Returns the text without what is hidden. */
  redact(text: string): string
}

export interface LogTarget {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

export function createLog(target: LogTarget, now: () => Date = () => new Date()): Log {
  const secrets = new Set<string>()
  const isTerminal = target.isTTY === true
  let shown = ''
  const redact = (text: string): string =>
    [...secrets].reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
  const print = (level: string, message: string) => {
    const line = toLine(redact(message))
    const clear = shown ? '\r\u001b[K' : ''
    target.write(`${clear}${now().toISOString().slice(0, 19)}Z ${level} ${line}\n${shown}`)
  }
  return {
    info: (message) => print('info', message),
    warn: (message) => print('warn', message),
    status(line) {
      if (!isTerminal) return
      const next = toLine(redact(line)).slice(0, (target.columns ?? 80) - 1)
      if (next === shown) return
      target.write(`\r\u001b[K${next}`)
      shown = next
    },
    hide(secret) {
      if (secret.length >= 8) secrets.add(secret)
    },
    redact,
  }
}

/** What programs and servers say could move the cursor, or write to the clipboard. */
const toLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ')
