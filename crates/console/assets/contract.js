// The page of a contract.
