/** Names that are the hub's own, or a word of its paths. */
export const reservedNames: ReadonlySet<string> = new Set([
  'rookery',
  'admin',
  'system',
  'me',
  'status',
  'profile',
  'register',
  'dm',
])
