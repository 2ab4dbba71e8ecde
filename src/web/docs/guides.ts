import { notFound } from '../../shared/errors'
import { renderMarkdown } from '../../shared/markdown/render-markdown'

/** The files of the folder `docs`, which are uploaded beside the script. */
export type GuideFiles = Pick<Fetcher, 'fetch'>

interface Guide {
  title: string
  html: string
}

/** A part of a guide below a heading, or before its first one. */
export interface GuideSection {
  /** Name of its file, without `.md`. */
  name: string
  /** Title of its guide. */
  title: string
  /** Empty before the first heading. */
  heading: string
  /** Address of the heading on the page of the guide. */
  path: string
  /** The words of its text, each once. */
  words: readonly string[]
}

/** Returns the words of a text in lower case. */
export const toWords = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

let sections: Promise<GuideSection[]> | null = null

const guideName = /^[a-z][a-z-]{0,40}$/

const guidePath = (name: string): string => `/docs/guides/${name}`

const splitTitle = (source: string): { title: string; text: string } => {
  const [, title = '', text = source] = /^# (.+)\n([\s\S]*)$/.exec(source) ?? []
  return { title, text }
}

const readSource = async (files: GuideFiles, name: string): Promise<string | null> => {
  if (!guideName.test(name)) return null
  // Only the path counts; a name of a host that nobody has cannot be mistaken for one.
  const answer = await files.fetch(`http://docs.invalid/${name}.md`)
  return answer.ok ? answer.text() : null
}

/** Returns the guide of `docs/<name>.md` as the hub shows it. @throws NOT_FOUND */
export async function readGuide(files: GuideFiles, name: string): Promise<Guide> {
  const source = await readSource(files, name)
  if (source === null) throw notFound('guide', 'All guides are at /docs.')
  const { title, text } = splitTitle(source)
  return { title, html: renderGuide(text) }
}

/** Returns the sections of guides, which an isolate reads once: a version of the hub does not change its guides. */
export function findSections(files: GuideFiles, names: readonly string[]): Promise<GuideSection[]> {
  sections ??= readSections(files, names).catch((error: unknown) => {
    sections = null
    throw error
  })
  return sections
}

async function readSections(files: GuideFiles, names: readonly string[]): Promise<GuideSection[]> {
  const sources = await Promise.all(names.map((name) => readSource(files, name)))
  return sources.flatMap((source, at) =>
    source === null ? [] : toSections(names[at] ?? '', source),
  )
}

/** Returns a heading as it is shown, without code and links. */
const showHeading = (source: string): string =>
  source.replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replace(/[`*]/g, '')

function toSections(name: string, source: string): GuideSection[] {
  const { title, text } = splitTitle(source)
  const sections = [{ heading: '', lines: [] as string[] }]
  let isInCode = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isInCode = !isInCode
    const heading = isInCode ? undefined : /^##+ (.+)$/.exec(line)?.[1]
    if (heading === undefined) sections.at(-1)?.lines.push(line)
    else sections.push({ heading: showHeading(heading), lines: [] })
  }
  return sections.map(({ heading, lines }) => ({
    name,
    title,
    heading,
    path: heading === '' ? guidePath(name) : `${guidePath(name)}#${toAnchor(heading)}`,
    words: [...new Set(toWords(lines.join(' ')))],
  }))
}

/** Returns the id of a heading, as GitHub makes it, so that a link leads to the same place here and there. */
const toAnchor = (heading: string): string =>
  heading
    .replace(/&\w+;/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/**
 * Renders a guide, with an id for each heading. Links to other guides lead to their pages; what links to any other file
 * of the repository, which the hub does not have, is text.
 */
function renderGuide(text: string): string {
  const { html } = renderMarkdown(text, { heading: 2, id: 'guide' })
  return html
    .replace(
      /<h2>(.*?)<\/h2>/g,
      (_, inner: string) => `<h2 id="${toAnchor(inner.replace(/<[^<>]*>/g, ''))}">${inner}</h2>`,
    )
    .replace(
      /<a href="([^"]*)" rel="nofollow ugc noopener">(.*?)<\/a>/gs,
      (link, target: string, inner: string) => {
        const path = toTarget(target)
        return path === target ? link : path === null ? inner : `<a href="${path}">${inner}</a>`
      },
    )
}

/** Returns where a link of a guide leads on the hub; null for nowhere. */
function toTarget(target: string): string | null {
  if (/^(?:https?:|mailto:|#|\/)/.test(target)) return target
  const [, name = '', anchor = ''] = /^([a-z-]+)\.md(#.*)?$/.exec(target) ?? []
  return name === '' ? null : `${guidePath(name)}${anchor}`
}
