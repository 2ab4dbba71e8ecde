import { createConfigJsonSchema } from './config-schema'
import { fieldNotes } from './field-notes'
import { templateFields } from './fill-templates'
import { templates } from './templates'

/** A field of `config.yaml` as the reference shows it. */
interface FieldReference {
  /** Its path below its part; `[]` stands for the items of a list. */
  name: string
  type: string
  default: string
  unit: string
  example: string
  what: string
}

/** What the page of reference says, for the script that writes it. */
export interface ConfigReference {
  /** The parts of the file in their order; the first one has the fields that stand alone. */
  parts: { name: string; fields: FieldReference[] }[]
  templateFields: readonly string[]
  examples: { title: string; summary: string; config: string }[]
}

interface Schema {
  type?: string
  enum?: string[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  description?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
  format?: string
}

/** Returns every field of `config.yaml` with type, default, unit and an example, and the templates as example files. */
export function createConfigReference(): ConfigReference {
  const { properties = {} } = createConfigJsonSchema() as Schema
  const entries = Object.entries(properties)
  const single = entries.filter(([, { properties: inner }]) => !inner)
  const parts = entries.filter(([, { properties: inner }]) => inner)
  return {
    parts: [
      { name: '', fields: single.flatMap(([name, schema]) => listFields(name, schema, '')) },
      ...parts.map(([name, schema]) => ({ name, fields: listFields(name, schema, `${name}.`) })),
    ],
    templateFields,
    examples: templates.map(({ title, summary, files }) => ({
      title,
      summary,
      config: files['config.yaml'] ?? '',
    })),
  }
}

function listFields(path: string, schema: Schema, part: string): FieldReference[] {
  const [inner, mark] = schema.properties
    ? [schema.properties, '']
    : [schema.items?.properties, '[]']
  if (inner && (mark === '' || fieldNotes[path] === undefined)) {
    return Object.entries(inner).flatMap(([name, each]) =>
      listFields(`${path}${mark}.${name}`, each, part),
    )
  }
  const note = fieldNotes[path]
  if (!note) throw new Error(`The field ${path} has no note in field-notes.ts.`)
  return [
    {
      name: path.slice(part.length),
      type: formatType(schema),
      default: note.default,
      unit: note.unit ?? '',
      example: note.example,
      what: note.what ?? schema.description ?? '',
    },
  ]
}

function formatType(schema: Schema): string {
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  if (schema.anyOf) return [...new Set(schema.anyOf.map(formatType))].join(', or ')
  if (schema.type === 'array') return formatList(schema)
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'integer' || schema.type === 'number') return formatNumber(schema)
  if (schema.type === 'object') return 'fields'
  if (schema.format === 'uri') return 'URL'
  return schema.maxLength === undefined ? 'text' : `text, at most ${schema.maxLength} characters`
}

const formatList = ({ items = {}, maxItems }: Schema): string =>
  maxItems === undefined
    ? `list of ${formatType(items)}`
    : `list of ${formatType(items)}; at most ${maxItems} items`

function formatNumber({ type, minimum, maximum }: Schema): string {
  const kind = type === 'integer' ? 'whole number' : 'number'
  const most = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? null : maximum
  if (minimum === undefined) return kind
  return most === null ? `${kind} from ${minimum}` : `${kind} from ${minimum} to ${most}`
}
