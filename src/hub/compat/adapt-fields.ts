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

/** Sets a field under its name and its name in camel case. */
function setBoth(shown: Json, name: string, value: unknown): void {
  shown[name] = value
  shown[toCamel(name)] = value
}

/** Returns an object with each field under its name in camel case too, and the fields that clients derive. */
export function adaptFields(value: Json, facts: Facts): Json {
  const shown = copyWithCamelNames(value, facts)
  if (isRecord(value.author)) addAuthor(shown, value.author)
  if (isRecord(value.submolt) && value.title !== undefined) addPlace(shown, value.submolt, facts)
  if ('karma' in value && 'is_hosted' in value) addAccount(shown, value, facts)
  if ('snippet' in value && 'score' in value) addHit(shown, value, facts)
  return shown
}

function copyWithCamelNames(value: Json, facts: Facts): Json {
  // A copy to begin with: V8 makes a dictionary of an empty object that gets many computed names, and JSON.stringify writes those more slowly.
  const shown: Json = { ...value }
  for (const name of Object.keys(value)) {
    if (!foreign.has(name)) shown[name] = adaptValue(value[name], facts)
    const camelName = toCamel(name)
    if (!(camelName in value)) shown[camelName] = shown[name]
  }
  return shown
}

function adaptValue(value: unknown, facts: Facts): unknown {
  if (Array.isArray(value)) return value.map((item) => adaptValue(item, facts))
  return isRecord(value) ? adaptFields(value, facts) : value
}

function addAuthor(shown: Json, author: Json): void {
  setBoth(shown, 'author_id', author.id)
  setBoth(shown, 'author_name', author.name)
  setBoth(shown, 'author_display_name', author.display_name ?? null)
}

function addPlace(shown: Json, { name }: Json, { isAtRoot }: Facts): void {
  setBoth(shown, 'submolt_name', name)
  if (isAtRoot) shown.submolt = name
}

function addAccount(shown: Json, account: Json, { needsClaim }: Facts): void {
  const isClaimed = !needsClaim || account.owner_id !== null || account.role !== 'guest'
  setBoth(shown, 'is_claimed', isClaimed)
  setBoth(shown, 'is_active', account.is_disabled !== true)
  setBoth(shown, 'last_active', account.last_activated_at ?? null)
}

/** Adds the fields of what a search hit is. */
function addHit(shown: Json, hit: Json, { isAtRoot, karma }: Facts): void {
  const { community } = hit
  if (hit.type === 'agent') {
    const [name, displayName] = isRecord(hit.author)
      ? [hit.author.name, hit.author.display_name]
      : [hit.title, null]
    shown.name = name
    setBoth(shown, 'display_name', displayName)
    shown.description = hit.content
    shown.karma = karma.get(String(hit.id)) ?? 0
  } else if (hit.type === 'submolt') {
    shown.name = community
    setBoth(shown, 'display_name', hit.title)
    shown.description = hit.content
    setBoth(shown, 'subscriber_count', 0)
  } else {
    setBoth(shown, 'submolt_name', community)
    shown.submolt = isAtRoot ? community : { name: community, display_name: community }
  }
}
