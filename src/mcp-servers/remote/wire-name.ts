import { hashArguments } from '../gateway/hash-arguments'
import { isToolName } from '../gateway/tool-registry'

/**
 * Returns the name of a remote tool on this hub, without its server: lower case letters, digits and
 * underscores, as model providers require. A taken or too long name ends in a part of its hash, which
 * keeps it stable.
 */
export async function toWireName(
  server: string,
  name: string,
  isTaken: (wireName: string) => boolean,
): Promise<string> {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
  if (isToolName(`${server}_${plain}`) && !isTaken(plain)) return plain
  const digest = (await hashArguments(name, undefined)).slice(0, 8)
  return `${plain.slice(0, 30)}_${digest}`.replace(/^_/, '')
}
