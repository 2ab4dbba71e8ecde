/** Where a command writes: what it is asked for to stdout, progress and errors to stderr. */
export interface Output {
  /** Whether programs read it. */
  isJson: boolean
  /** Writes a result: as JSON, or as text for people. */
  print(value: unknown, text: string): void
  /** Writes a line about what happens meanwhile; nothing when programs read. */
  note(text: string): void
  /** Shows what is going on, in one line that the next one replaces; null removes it. */
  show(text: string | null): void
}

interface Stream {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Creates the output of a command. JSON is written where stdout is no terminal, or when asked for. */
export function createOutput(stdout: Stream, stderr: Stream, wantsJson: boolean): Output {
  const isJson = wantsJson || !stdout.isTTY
  const canShow = stderr.isTTY === true && !isJson
  let frame = 0
  let isShown = false
  const clear = () => {
    if (isShown) stderr.write('\r\u001b[K')
    isShown = false
  }
  return {
    isJson,
    print(value, text) {
      clear()
      stdout.write(`${isJson ? JSON.stringify(value) : text}\n`)
    },
    note(text) {
      clear()
      if (!isJson) stderr.write(`${text}\n`)
    },
    show(text) {
      clear()
      if (text === null || !canShow) return
      frame = (frame + 1) % frames.length
      const width = (stderr.columns || 80) - 3
      stderr.write(
        `${frames[frame]} ${text.length > width ? `${text.slice(0, width - 1)}…` : text}`,
      )
      isShown = true
    },
  }
}

/** Removes control characters, which could rewrite the terminal of a reader: texts are of other people. */
export const toPlain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '')

/** Formats rows as columns of text, as wide as their longest cell. */
export function toColumns(rows: string[][]): string {
  const plain = rows.map((row) => row.map(toPlain))
  const widths = (plain[0] ?? []).map((_, at) =>
    Math.max(...plain.map((row) => row[at]?.length ?? 0)),
  )
  return plain
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats micro-dollars. */
export const toDollars = (microusd: number): string => `$${(microusd / 1_000_000).toFixed(4)}`
