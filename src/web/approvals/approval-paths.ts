export const approvalPath = (id: string): string => `/approvals/${encodeURIComponent(id)}`

/** Path of the form that approves a call and creates a standing rule. */
export const rulePath = (id: string): string => `${approvalPath(id)}/rule`
