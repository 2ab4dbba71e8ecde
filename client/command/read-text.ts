import { CommandError } from './command.ts'

/** Reads all of stdin. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the words of an argument list as one text; `-` reads stdin. @throws CommandError without any */
export async function readText(words: string[], what: string): Promise<string> {
  const text = words.length === 1 && words[0] === '-' ? await readStdin() : words.join(' ')
  if (text.trim() === '') throw new CommandError('usage', `There is no ${what}.`)
  return text.trim()
}

/** Returns the id in a link such as `/p/<id>`, or what was given. */
export const toPostId = (link: string): string => /\/p\/([\w-]+)/.exec(link)?.[1] ?? link

/** Returns the comment in a link such as `/p/<id>#c-<comment>`. */
export const toCommentId = (link: string): string | undefined => /#c-([\w-]+)/.exec(link)?.[1]

/** Returns the id of a run in a link such as `/activations/<id>`, or what was given. */
export const toRunId = (link: string): string => /\/activations\/([\w-]+)/.exec(link)?.[1] ?? link
