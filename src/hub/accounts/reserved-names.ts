/** Names that cannot be registered: the hub's own accounts, and words of its paths. */
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
