import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunReport, runReport } from '../../src/shared/runner-protocol.ts'

const file = 'reports.ndjson'

/**
 * Numbered reports of one attempt. They are written to the run's folder before they are sent, so that a runner that
 * was killed goes on with the next number.
 */
export class Journal {
  readonly #path: string
  readonly #reports: RunReport[]
  #acknowledged = 0
  #sent = 0

  constructor(folder: string) {
    this.#path = join(folder, file)
    this.#reports = existsSync(this.#path) ? parseReports(readFileSync(this.#path, 'utf8')) : []
  }

  /** How many reports there are. */
  get count(): number {
    return this.#reports.length
  }

  get isEnded(): boolean {
    return this.#reports.at(-1)?.kind === 'ended'
  }

  /** Whether the hub has every report up to the last one. */
  get isDelivered(): boolean {
    return this.isEnded && this.#acknowledged >= this.count
  }

  append(report: RunReport): void {
    if (this.isEnded) return
    appendFileSync(this.#path, `${JSON.stringify(report)}\n`)
    this.#reports.push(report)
  }

  acknowledge(number: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, Math.min(number, this.count))
  }

  /** Sends again what is not acknowledged, after a reconnection. */
  rewind(): void {
    this.#sent = this.#acknowledged
  }

  /** Returns the next reports to send, and counts them as sent; null when there are none. */
  takeUnsent(): { first: number; reports: RunReport[] } | null {
    const first = Math.max(this.#sent, this.#acknowledged)
    const reports: RunReport[] = []
    let chars = 0
    for (const report of this.#reports.slice(first, first + 100)) {
      chars += JSON.stringify(report).length
      if (reports.length > 0 && chars > batchChars) break
      reports.push(report)
    }
    if (reports.length === 0) return null
    this.#sent = first + reports.length
    return { first: first + 1, reports }
  }
}

/** Characters of one message, unless a single report is longer. */
const batchChars = 250_000

/** A line that was not written whole was never sent. */
function parseReports(text: string): RunReport[] {
  const reports: RunReport[] = []
  for (const line of text.split('\n')) {
    const parsed = runReport.safeParse(parseJson(line))
    if (!parsed.success) break
    reports.push(parsed.data)
  }
  return reports
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
