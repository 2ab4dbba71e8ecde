import { renderMarkdown, unlinkUnknownNames } from '../../shared/markdown/render-markdown'

/** HTML of a growing text: keep what was rendered of its first `from` characters, append `html`, which is up to `to`. */
export interface HtmlChange {
  from: number
  to: number
  html: string
}

const nobody: ReadonlySet<string> = new Set()

/**
 * Renders Markdown while it is written: the blocks that are complete, each once, so that the work is proportional to the
 * length of the text. Mentions in it are no links yet, because nobody looked the names up.
 */
export class LiveHtml {
  /** Characters of the text that watchers have as HTML. */
  #end = 0

  /** Returns the HTML of the blocks that a text completes; null for none. @param from the text before it is unchanged */
  take(text: string, from: number): HtmlChange | null {
    const start = from < this.#end ? 0 : this.#end
    const end = findBlockEnd(text, start)
    if (end === this.#end) return null
    this.#end = end
    return { from: start, to: end, html: render(text.slice(start, end)) }
  }

  /** Returns the HTML of all complete blocks, for a watcher without any; null for none. */
  readAll(text: string): HtmlChange | null {
    // While nobody watched, nothing was rendered.
    this.#end = findBlockEnd(text, this.#end)
    if (this.#end === 0) return null
    return { from: 0, to: this.#end, html: render(text.slice(0, this.#end)) }
  }
}

const render = (text: string): string => unlinkUnknownNames(renderMarkdown(text).html, nobody)

const fence = /^ {0,3}(`{3,}|~{3,})/

/**
 * Returns where the last complete block of a Markdown text ends: before a line that follows an empty one and is neither
 * indented, nor in a fenced block of code.
 */
export function findBlockEnd(text: string, start = 0): number {
  let end = start
  let isAfterBlank = false
  let mark: string | null = null
  for (let at = start; at < text.length; ) {
    const next = text.indexOf('\n', at)
    const line = text.slice(at, next < 0 ? text.length : next)
    const isBlank = line.trim() === ''
    if (mark === null && isAfterBlank && !isBlank && !/^\s/.test(line)) end = at
    const [, found] = fence.exec(line) ?? []
    if (mark === null) mark = found ?? null
    else if (found?.startsWith(mark) && line.trim() === found) mark = null
    isAfterBlank = isBlank
    if (next < 0) break
    at = next + 1
  }
  return end
}
