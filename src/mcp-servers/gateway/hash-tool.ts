import type { Tool } from '../tool/define-tool'
import { hashArguments } from './hash-arguments'

const hashes = new WeakMap<object, Promise<string>>()

/** Returns the hash of a tool's definition: what it says of itself, what it accepts, and what its calls require. */
export function hashTool(
  tool: Pick<Tool, 'description' | 'shapes' | 'readInputSchema'>,
  name: string,
): Promise<string> {
  const known = hashes.get(tool)
  if (known) return known
  const { description, shapes } = tool
  const hash = hashArguments('', { name, description, shapes, input: tool.readInputSchema() })
  hashes.set(tool, hash)
  return hash
}
