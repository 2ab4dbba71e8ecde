import { createConfigJsonSchema } from './config-schema'

let schema: object | undefined

/** Returns the fields that `config.yaml` can have at a path, such as `['brain']`; none for other paths. */
export function listKnownFields(path: readonly PropertyKey[]): string[] {
  schema ??= createConfigJsonSchema()
  let node: unknown = schema
  for (const step of path) {
    node = typeof step === 'number' ? read(node, 'items') : read(read(node, 'properties'), step)
  }
  return Object.keys(read(node, 'properties') ?? {})
}

const read = (node: unknown, key: PropertyKey): object | undefined => {
  if (typeof node !== 'object' || node === null) return undefined
  const value: unknown = Reflect.get(node, key)
  return typeof value === 'object' && value !== null ? value : undefined
}
