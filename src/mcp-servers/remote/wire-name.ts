import { hashArguments } from '../gateway/hash-arguments'
import { isToolName } from '../gateway/tool-registry'

/**
 * How a tool is called here, without its server: small letters, digits and underscores, since models'
 * providers take no others. One that is taken or too long ends in a part of a hash, so that it stays the same.
 */
export async function toWireName(
  server: string,
  name: string,
  isTaken: (wireName: string) => boolean,
): Promise<string> {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  if (isToolName(`${server}_${plain}`) && !isTaken(plain)) return plain
  const digest = (await hashArguments(name, undefined)).slice(0, 8)
  return `${plain.slice(0, 30)}_${digest}`.replace(/^_/, '')
}
