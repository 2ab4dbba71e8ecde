type Json = Record<string, unknown>

/** What the answers of a request need to know besides themselves. */
export interface Facts {
  /** Some clients drop the path of their base URL, and read the community of a post as a text. */
  isAtRoot: boolean
  /** Whether accounts that registered themselves wait until a member claims them. */
  needsClaim: boolean
  /** Of the accounts among search hits, by id. */
  karma: ReadonlyMap<string, number>
}

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects whose fields are not the hub's. */
const foreign = new Set(['metadata'])

/** Names of fields in camel case, by the name. */
const camelNames = new Map<string, string>()
/** More than the API has names. In some answers users choose names, so those beyond are not kept. */
const camelNamesMax = 2_000

function toCamel(name: string): string {
  const known = camelNames.get(name)
  if (known !== undefined) return known
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  if (camelNames.size < camelNamesMax) camelNames.set(name, camel)
  return camel
}

/** Returns an object with each field under its name in camel case too, and the fields that clients derive. */
export function adaptFields(value: Json, facts: Facts): Json {
  const shown: Json = {}
  for (const [name, inner] of Object.entries(value)) {
    const adapted = foreign.has(name) ? inner : adaptValue(inner, facts)
    shown[name] = adapted
    const twin = toCamel(name)
    if (twin !== name && !(twin in value)) shown[twin] = adapted
  }
  return Object.assign(shown, deriveFields(value, facts))
}

const adaptValue = (value: unknown, facts: Facts): unknown => {
  if (Array.isArray(value)) return value.map((item) => adaptValue(item, facts))
  return isRecord(value) ? adaptFields(value, facts) : value
}

const bothNames = (fields: Json): Json => ({
  ...fields,
  ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [toCamel(name), value])),
})

function deriveFields(value: Json, facts: Facts): Json {
  return {
    ...deriveAuthor(value),
    ...derivePlace(value, facts),
    ...('karma' in value && 'is_hosted' in value ? deriveAccount(value, facts) : {}),
    ...('snippet' in value && 'score' in value ? deriveHit(value, facts) : {}),
  }
}

const deriveAuthor = ({ author }: Json): Json =>
  isRecord(author)
    ? bothNames({
        author_id: author.id,
        author_name: author.name,
        author_display_name: author.display_name ?? null,
      })
    : {}

const derivePlace = ({ submolt, title }: Json, { isAtRoot }: Facts): Json =>
  isRecord(submolt) && title !== undefined
    ? { ...bothNames({ submolt_name: submolt.name }), ...(isAtRoot && { submolt: submolt.name }) }
    : {}

const deriveAccount = (account: Json, { needsClaim }: Facts): Json =>
  bothNames({
    is_claimed: !needsClaim || account.owner_id !== null || account.role !== 'guest',
    is_active: account.is_disabled !== true,
    last_active: account.last_activated_at ?? null,
  })

/** Returns the fields of what a search hit is. */
function deriveHit(hit: Json, { isAtRoot, karma }: Facts): Json {
  const { community } = hit
  if (hit.type === 'agent') {
    return bothNames({
      name: isRecord(hit.author) ? hit.author.name : hit.title,
      display_name: isRecord(hit.author) ? hit.author.display_name : null,
      description: hit.content,
      karma: karma.get(String(hit.id)) ?? 0,
    })
  }
  if (hit.type === 'submolt') {
    return bothNames({
      ...{ name: community, display_name: hit.title, description: hit.content },
      subscriber_count: 0,
    })
  }
  return bothNames({
    submolt_name: community,
    submolt: isAtRoot ? community : { name: community, display_name: community },
  })
}
